// RUN: tile-opt %s --split-input-file --verify-diagnostics --quiet

// Types. The parser sees these at the end of the op.
%t = "test.op"() : () -> tensor<4x4x3xf32>
// expected-error@+2 {{a tensor of f32 with a static shape of rank 2 expected, not tensor<4x4x3xf32>}}
%0 = spat.relu %t : tensor<4x4x3xf32>

// -----

%t = "test.op"() : () -> tensor<?x3xf32>
// expected-error@+2 {{a tensor of f32 with a static shape of rank 2 expected, not tensor<?x3xf32>}}
%0 = spat.relu %t : tensor<?x3xf32>

// -----

%t = "test.op"() : () -> tensor<0x3xf32>
// expected-error@+2 {{a tensor of f32 with a static shape of rank 2 expected, not tensor<0x3xf32>}}
%0 = spat.relu %t : tensor<0x3xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf16>
// expected-error@+2 {{a tensor of f32 with a static shape of rank 2 expected, not tensor<4x3xf16>}}
%0 = spat.spread %t : tensor<4x3xf16> -> tensor<4x3xf32>

// -----

// expected-error@+2 {{a tensor of f32 with a static shape of rank 3 expected, not tensor<4xf32>}}
%0 = spat.input "x" shape <i64[1] [4]> : tensor<4xf32>

// -----

// expected-error@+2 {{a tensor of f32 with a static shape of rank 2 or 3 expected, not tensor<2xf32>}}
%0 = spat.constant <f32[2] [1.0, 2.0]> : tensor<2xf32>

// -----

// Constants, inputs and outputs
// expected-error@+1 {{a constant of type tensor<1x2xf32> has result type tensor<2x1xf32>}}
%0 = spat.constant <f32[1, 2] [1.0, 2.0]> : tensor<2x1xf32>

// -----

// expected-error@+1 {{a constant of type tensor<1x2xi32> has result type tensor<1x2xf32>}}
%0 = spat.constant <i32[1, 2] [1, 2]> : tensor<1x2xf32>

// -----

// expected-error@+1 {{an input of 8 elements has 32 as tensor<4x4x2xf32>}}
%0 = spat.input "x" shape <i64[4] [1, 2, 2, 2]> : tensor<4x4x2xf32>

// -----

// expected-error@+1 {{0 tensors with 0 lists of channels}}
"spat.output"() <{output_name = "y", shape = #tile.array<i64[4] [1, 2, 4, 4]>, channels = []}> : () -> ()

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{1 tensors with 2 lists of channels}}
spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>, #tile.array<i32[0] []>] %t : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a tensor of 2 channels lists tensor<3xi32> of them}}
spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[3] [0, 1, 2]>] %t : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a tensor of 2 channels lists tensor<2xf32> of them}}
spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<f32[2] [0.0, 1.0]>] %t : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{the tensors do not hold each of 2 channels once}}
spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [1, 1]>] %t : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{an output of 64 elements has 32 in its tensors}}
spat.output "y" shape <i64[4] [1, 4, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %t : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
%u = "test.op"() : () -> tensor<4x2x2xf32>
// expected-error@+1 {{the tensors of an output differ in their rows or columns}}
spat.output "y" shape <i64[4] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>, #tile.array<i32[2] [2, 3]>] %t, %u : tensor<4x4x2xf32>, tensor<4x2x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{4 rows of 32 images}}
spat.output "y" shape <i64[1] [32]> channels [#tile.array<i32[2] [0, 1]>] %t : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{4 rows of 3 images}}
spat.output "y" shape <i64[1] [32]> images 3 channels [#tile.array<i32[2] [0, 1]>] %t : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a shape is a list of integers, not tensor<2x2xi64>}}
spat.output "y" shape <i64[2, 2] [1, 2, 4, 4]> channels [#tile.array<i32[2] [0, 1]>] %t : tensor<4x4x2xf32>

// -----

// Views
%t = "test.op"() : () -> tensor<3x6x2xf32>
// expected-error@+1 {{row 3 of a source with 3 rows}}
%0 = spat.view %t row 3 start 0 step 2 : tensor<3x6x2xf32> -> tensor<4x6xf32>

// -----

%t = "test.op"() : () -> tensor<6x2xf32>
// expected-error@+1 {{row 1 of a source with 1 rows}}
%0 = spat.view %t row 1 start 0 step 2 : tensor<6x2xf32> -> tensor<4x6xf32>

// -----

%t = "test.op"() : () -> tensor<3x6x2xf32>
// expected-error@+1 {{start -1 and step 2 may not be negative}}
%0 = spat.view %t row 0 start -1 step 2 : tensor<3x6x2xf32> -> tensor<4x6xf32>

// -----

%t = "test.op"() : () -> tensor<3x6x2xf32>
// expected-error@+1 {{the view ends at element 13 of a row of 6 x 2 = 12 elements}}
%0 = spat.view %t row 0 start 1 step 2 : tensor<3x6x2xf32> -> tensor<4x6xf32>

// -----

// Gathers
// expected-error@+1 {{a gather needs at least one part}}
%0 = "spat.gather"() : () -> tensor<4x6xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the parts of a gather have the result's column count}}
%0 = spat.gather %t, %t : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<3x6xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the parts of a gather have 6 channels together, its result has 5}}
%0 = spat.gather %t, %t : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x5xf32>

// -----

// Products
%t = "test.op"() : () -> tensor<4x3xf32>
%w = "test.op"() : () -> tensor<4x5xf32>
// expected-error@+1 {{the product reads weight rows 2 to 5 of 4}}
%0 = spat.vmm %t, %w row 2 : tensor<4x3xf32>, tensor<4x5xf32> -> tensor<4x5xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
%w = "test.op"() : () -> tensor<4x5xf32>
// expected-error@+1 {{the product of 4 vectors with 5 weight columns is a 4x5 tile}}
%0 = spat.vmm %t, %w row 0 : tensor<4x3xf32>, tensor<4x5xf32> -> tensor<4x3xf32>

// -----

// Element by element
%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the result has the shape of the left operand}}
%0 = spat.vadd %t, %t : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x1xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
%u = "test.op"() : () -> tensor<2x3xf32>
// expected-error@+1 {{a 2x3 tile does not repeat to 4x3}}
%0 = spat.vmax %t, %u : tensor<4x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>

// -----

// Reductions
%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the kind of a reduction is one of add, max}}
%0 = spat.reduce_columns "min" %t : tensor<4x3xf32> -> tensor<1x3xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the reduction of 4x3 is not 4x1}}
%0 = spat.reduce_columns "add" %t : tensor<4x3xf32> -> tensor<4x1xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the reduction of 4x3 is not 1x3}}
%0 = spat.reduce_channels "add" %t : tensor<4x3xf32> -> tensor<1x3xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the reduction of 4x3 is not 1x3}}
%0 = spat.reduce_rows "add" %t : tensor<4x3xf32> -> tensor<1x3xf32>

// -----

// Pads
%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{padding may not be negative}}
%0 = spat.pad %t columns -1, 0 channels 0, 0 : tensor<4x3xf32> -> tensor<3x3xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{a pad adds columns or channels, not both}}
%0 = spat.pad %t columns 1, 0 channels 1, 0 : tensor<4x3xf32> -> tensor<5x4xf32>

// -----

%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{the padded tile is 5x3}}
%0 = spat.pad %t columns 1, 0 channels 0, 0 : tensor<4x3xf32> -> tensor<6x3xf32>

// -----

// Repetitions
%t = "test.op"() : () -> tensor<4x3xf32>
// expected-error@+1 {{a spread repeats one channel, its source has 3}}
%0 = spat.spread %t : tensor<4x3xf32> -> tensor<4x6xf32>

// -----

%t = "test.op"() : () -> tensor<4x1xf32>
// expected-error@+1 {{a spread keeps the columns}}
%0 = spat.spread %t : tensor<4x1xf32> -> tensor<3x6xf32>

// -----

// Tables
%t = "test.op"() : () -> tensor<2x4x3xf32>
// expected-error@+1 {{the picked tile is 4x3}}
%0 = spat.pick %t by <i32[2] [0, 1]> : tensor<2x4x3xf32> -> tensor<4x1xf32>

// -----

%t = "test.op"() : () -> tensor<2x4x3xf32>
// expected-error@+1 {{a table of one integer per lane expected}}
%0 = spat.pick %t by <i32[2, 1] [0, 1]> : tensor<2x4x3xf32> -> tensor<4x3xf32>

// -----

%t = "test.op"() : () -> tensor<2x4x3xf32>
// expected-error@+1 {{a table of one integer per lane expected}}
%0 = spat.pick %t by <f32[2] [0.0, 1.0]> : tensor<2x4x3xf32> -> tensor<4x3xf32>

// -----

%t = "test.op"() : () -> tensor<2x4x3xf32>
// expected-error@+1 {{the table picks tiles 0 to 2 of 2}}
%0 = spat.pick %t by <i32[2] [0, 2]> : tensor<2x4x3xf32> -> tensor<4x3xf32>

// -----

// Batches
%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a batch of 4 lanes with 5 replicas}}
%y = spat.compute_batch lanes 4 replicas 5 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a batch of 0 lanes with 1 replicas}}
%y = spat.compute_batch lanes 0 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{1 inputs with 0 windows}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{the body's arguments are (tensor<2x4x2xf32>), expected (tensor<1x4x2xf32>)}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<2x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<2x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{4 lanes that yield rows of shape [(4, 2)] do not make (tensor<4x4x3xf32>)}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x3xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{4 lanes that yield rows of shape [(4, 2)] do not make (tensor<3x4x2xf32>)}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<3x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{rows is 0, at least 1 expected}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, rows 0>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a clamped window has no column padding}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4, pad_left 1, edge clamp>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{4 rows in images of 3, 4 lanes in images of 4}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 3, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{2 images of the input for 1 of the lanes}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 2, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%s = spat.constant <f32[2, 4, 2] splat 1.0> : tensor<2x4x2xf32>
// expected-error@+1 {{a table of (3,) entries in a batch of 4 lanes}}
%y = spat.compute_batch lanes 4 windows [] weights(%s : tensor<2x4x2xf32>) -> tensor<4x4x2xf32> {
^bb0(%stack: tensor<2x4x2xf32>):
  %row = spat.pick %stack by <i32[3] [0, 1, 0]> : tensor<2x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{spat.pick takes its constants from the weights of the batch}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.pick %rows by <i32[4] splat 0> : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{spat.vmm takes its constants from the weights of the batch}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %tile = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  %row = spat.vmm %tile, %tile row 0 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%s = spat.constant <f32[2, 4, 2] splat 1.0> : tensor<2x4x2xf32>
// expected-error@+1 {{spat.reduce_rows reads a stack of tiles, of which only spat.pick selects one}}
%y = spat.compute_batch lanes 4 windows [] weights(%s : tensor<2x4x2xf32>) -> tensor<4x4x2xf32> {
^bb0(%stack: tensor<2x4x2xf32>):
  %row = spat.reduce_rows "add" %stack : tensor<2x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.constant <f32[4, 4, 2] splat 1.0> : tensor<4x4x2xf32>
// expected-error@+1 {{an input is a spat.constant, which belongs to the weights}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a weight is no spat.constant}}
%y = spat.compute_batch lanes 4 windows [] weights(%x : tensor<4x4x2xf32>) -> tensor<4x4x2xf32> {
^bb0(%stack: tensor<4x4x2xf32>):
  %row = spat.pick %stack by <i32[4] splat 0> : tensor<4x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{test.op in the body; the vector and matrix ops of the spat dialect expected}}
%y = spat.compute_batch lanes 4 ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = "test.op"() : () -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
%y = "spat.compute_batch"(%x) <{lanes = 4 : i64, windows = [#spat.window<height 4, lanes 4>], operandSegmentSizes = array<i32: 1, 0>}> ({
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  // expected-error@+1 {{terminates block in single-block region but is not a terminator}}
  %0 = spat.relu %row : tensor<4x2xf32>
}) : (tensor<4x4x2xf32>) -> tensor<4x4x2xf32>

// -----

// Schedules
%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a schedule has both cores and steps}}
%y = spat.compute_batch lanes 4 cores <i32[1] [0]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{cores are tensor<2xi32>, an integer for each of 1 replicas expected}}
%y = spat.compute_batch lanes 4 cores <i32[2] [0, 1]> steps <i64[4] [0, 1, 2, 3]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{spans are tensor<3xi64>, an integer for each of 4 lanes expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 1, 2, 3]> spans <i64[3] [1, 1, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{spans are tensor<4x1xi64>, an integer for each of 4 lanes expected}}
%y = spat.compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 1, 2, 3]> spans <i64[4, 1] [1, 1, 1, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{spans are tensor<4xf32>, an integer for each of 4 lanes expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 1, 2, 3]> spans <f32[4] splat 1.0> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a lane extends over less than one step}}
%y = spat.compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 1, 2, 3]> spans <i64[4] [1, 0, 1, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a lane extends over less than one step}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 1, 2, 3]> spans <i64[4] [1, 1, 1, -1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{steps are tensor<3xi64>, an integer for each of 4 lanes expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[3] [0, 1, 2]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{steps are tensor<4xf32>, an integer for each of 4 lanes expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <f32[4] splat 0.0> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a core is negative}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [-1]> steps <i64[4] [0, 1, 2, 3]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

// Communication
%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a table i64[N, 2] of row, core expected}}
%0 = spat.deferred_communication %t needs <i64[2] [0, 7]> : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a table i64[N, 2] of row, core expected}}
%0 = spat.deferred_communication %t needs <i32[1, 2] [0, 7]> : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{the table names row 4 of 4}}
%0 = spat.deferred_communication %t needs <i64[2, 2] [0, 7, 4, 7]> : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a core in the table is negative}}
%0 = spat.deferred_communication %t needs <i64[1, 2] [0, -1]> : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a table i64[N, 4] of row, source, target, step expected}}
%0 = spat.channel_send %t messages <i64[1, 2] [0, 7]> : tensor<4x4x2xf32>

// -----

%t = "test.op"() : () -> tensor<4x4x2xf32>
// expected-error@+1 {{a message from a core to itself}}
%0 = spat.channel_send %t messages <i64[1, 4] [0, 7, 7, 0]> : tensor<4x4x2xf32>

// -----

%t, %u = "test.op"() : () -> (tensor<4x4x2xf32>, tensor<4x4x2xf32>)
%c = spat.channel_send %t messages <i64[1, 4] [0, 3, 7, 0]> : tensor<4x4x2xf32>
// expected-error@+1 {{a channel is received beside the tensor that was sent}}
%0 = spat.channel_receive %u from %c : tensor<4x4x2xf32>

// -----

%t, %c = "test.op"() : () -> (tensor<4x4x2xf32>, !spat.channel)
// expected-error@+1 {{a channel is received beside the tensor that was sent}}
%0 = spat.channel_receive %t from %c : tensor<4x4x2xf32>

// -----

// Text of attributes
// expected-error@+1 {{unknown field 'depth' of a window}}
"test.op"() {a = #spat.window<height 4, lanes 4, depth 2>} : () -> ()

// -----

// expected-error@+1 {{field 'rows' of a window is given twice}}
"test.op"() {a = #spat.window<height 4, lanes 4, rows 2, rows 2>} : () -> ()

// -----

// expected-error@+1 {{field 'lanes' of a window is missing}}
"test.op"() {a = #spat.window<height 4>} : () -> ()

// -----

// expected-error@+1 {{unknown edge 'wrap' of a window; one of zero, clamp expected}}
"test.op"() {a = #spat.window<height 4, lanes 4, edge wrap>} : () -> ()

// -----

// expected-error@+1 {{index is not an element type of a network's input or output}}
%0 = spat.input "x" shape <i64[2] [1, 2]> as index : tensor<1x1x2xf32>

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{resumes are tensor<2xi64>, lines of a lane, a cycle and a step expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> resumes <i64[2] [0, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{resumes name lane 4 of 4}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> resumes <i64[1, 3] [4, 0, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a number of resumes is negative}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> resumes <i64[1, 3] [0, -1, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a lane resumes behind the end of its span}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> resumes <i64[1, 3] [0, 1, 9]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{resumes are not in order of lanes, cycles and steps}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> resumes <i64[2, 3] [1, 1, 2, 0, 1, 2]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{resumes are not in order of lanes, cycles and steps}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> resumes <i64[2, 3] [0, 2, 3, 0, 1, 4]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{sends are tensor<1x3xf32>, lines of a row, a core and a step expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> sends <f32[1, 3] splat 1.0> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{sends are tensor<1x2xi64>, lines of a row, a core and a step expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> sends <i64[1, 2] [0, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{sends name row 4 of 4}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> sends <i64[1, 3] [4, 0, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a number of sends is negative}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> sends <i64[1, 3] [0, 0, -1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{fetches are tensor<1x3xf32>, lines of a constant, a core and a step expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> fetches <f32[1, 3] splat 1.0> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{fetches are tensor<1x2xi64>, lines of a constant, a core and a step expected}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> fetches <i64[1, 2] [0, 1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{a number of fetches is negative}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> fetches <i64[1, 3] [0, 0, -1]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}

// -----

%x = spat.input "x" shape <i64[4] [1, 2, 4, 4]> : tensor<4x4x2xf32>
// expected-error@+1 {{fetches name a constant twice for a core}}
%y = spat.scheduled_compute_batch lanes 4 cores <i32[1] [0]> steps <i64[4] [0, 10, 20, 30]> spans <i64[4] splat 9> fetches <i64[2, 3] [0, 0, 1, 0, 0, 2]> ins(%x : tensor<4x4x2xf32>) windows [#spat.window<height 4, lanes 4>] -> tensor<4x4x2xf32> {
^bb0(%rows: tensor<1x4x2xf32>):
  %row = spat.view %rows row 0 start 0 step 2 : tensor<1x4x2xf32> -> tensor<4x2xf32>
  spat.yield %row : tensor<4x2xf32>
}
