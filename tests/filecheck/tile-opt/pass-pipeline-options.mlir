// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py --dump-pass-pipeline --quiet -p 'test-nothing' 2>&1 | filecheck %s --check-prefix=DEFAULT
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py --dump-pass-pipeline --quiet -p 'test-nothing{count=0x10 ratio=1e3 text="a b, {c}" flag sizes=1,2 level=high speed=fast limit=3 tile={rows=4 columns=5}}' 2>&1 | filecheck %s
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py --dump-pass-pipeline --quiet -p 'test-nothing{limit=none sizes={} flag=false}' 2>&1 | filecheck %s --check-prefix=DEFAULT
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-needy{machine-name=big}' | filecheck %s --check-prefix=NEEDY
// RUN: tile-opt %s --load-pass-plugin=%S/inputs/passes_for_tests.py -p 'test-needy{machine_name="big"}' | filecheck %s --check-prefix=NEEDY

// DEFAULT: builtin.module(test-nothing{count=1 ratio=0.5 text="" flag=false sizes={} level=low speed=slow limit=none tile={rows=1 columns=64}})
// CHECK: builtin.module(test-nothing{count=16 ratio=1000.0 text="a b, {c}" flag=true sizes=1,2 level=high speed=fast limit=3 tile={rows=4 columns=5}})
// NEEDY: builtin.module attributes {machine = "big"}
