// RUN: not tile-opt %s -p 'canonicalise' 2>&1 | filecheck %s --check-prefix=NAME
// NAME:      error: --passes:1:1: unknown pass 'canonicalise'; did you mean 'canonicalize'?
// NAME-NEXT:   canonicalise
// NAME-NEXT:   ^^^^^^^^^^^^

// RUN: not tile-opt %s --pass-pipeline='builtin.module(cse,' 2>&1 | filecheck %s --check-prefix=COMMA
// COMMA: error: --pass-pipeline:1:20: expected a pass after ',', found the end of the pipeline

// RUN: not tile-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | filecheck %s --check-prefix=PAREN
// PAREN: error: --pass-pipeline:1:19: expected ')', found the end of the pipeline

// RUN: not tile-opt %s -p 'cse dce' 2>&1 | filecheck %s --check-prefix=BLANK
// BLANK: error: --passes:1:5: expected {{.*}} found 'dce'

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{count=1,ratio=2}' 2>&1 | filecheck %s --check-prefix=LIST
// LIST: error: --passes:1:27: ',' continues a list; separate options by blanks

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{text="a}' 2>&1 | filecheck %s --check-prefix=QUOTE
// QUOTE: error: --passes:1:19: unterminated string; close the quote

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{cont=1}' 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: error: --passes:1:14: pass 'test-nothing' has no option 'cont'; did you mean 'count'?

// RUN: not tile-opt %s -p 'cse{x=1}' 2>&1 | filecheck %s --check-prefix=NOOPTION
// NOOPTION: error: --passes:1:5: pass 'cse' has no option 'x'; it takes no options

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{count=many}' 2>&1 | filecheck %s --check-prefix=TYPE
// TYPE: error: --passes:1:20: option 'count' of pass 'test-nothing' takes an integer

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{count}' 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: error: --passes:1:14: option 'count' of pass 'test-nothing' takes an integer, and no value is given; add '=' and a value

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{level=hihg}' 2>&1 | filecheck %s --check-prefix=ENUM
// ENUM: error: --passes:1:20: option 'level' of pass 'test-nothing' takes one of 'low', 'high'; did you mean 'high'?

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{flag=maybe}' 2>&1 | filecheck %s --check-prefix=FLAG
// FLAG: error: --passes:1:19: option 'flag' of pass 'test-nothing' takes 'true' or 'false'

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{sizes=1,x}' 2>&1 | filecheck %s --check-prefix=ITEM
// ITEM: error: --passes:1:22: option 'sizes' of pass 'test-nothing' takes a list, each an integer

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{tile={columns=1}}' 2>&1 | filecheck %s --check-prefix=NESTED
// NESTED: error: --passes:1:20: option 'tile' of pass 'test-nothing' takes options {rows=... columns=...}; 'rows' is missing

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{count=1 count=2}' 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: error: --passes:1:22: option 'count' is given twice; keep one

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-nothing{count=-1}' 2>&1 | filecheck %s --check-prefix=CHECKED
// CHECKED: error: --passes:1:1: pass 'test-nothing': count is -1; give a positive count

// RUN: not tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-needy' 2>&1 | filecheck %s --check-prefix=NEEDED
// NEEDED: error: --passes:1:1: pass 'test-needy' needs option 'machine-name'; add {machine-name=...}, a string

// RUN: not tile-opt %s -p cse --canonicalize 2>&1 | filecheck %s --check-prefix=SEVERAL
// SEVERAL: error: tile-opt: the passes are given in several ways; keep one of --pass-pipeline, -p, --PASS
