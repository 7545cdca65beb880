"""Plain-numpy cost model and planners. Nothing here imports the IR.

Numbers that are tuned, here and in `lowering`, say what they are, in which unit, and what more and less of them costs.
Two percentages behind that are by how much makespans get longer with half and with twice as much: the mean of ResNet-18
and SqueezeNet at 224 pixels, GoogLeNet at 64 and AlexNet at 224, on `reference144`. A percent either way may be chance:
other schedules lead the search to other moves.
"""
