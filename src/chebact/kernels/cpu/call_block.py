"""The block of integers that describes a call of a CPU loop; what they are, in their order.

Behind it stand the counters of the tasks: that of the workers, and one for each of the parts the tasks are cut into.
"""

(COUNTERS, TASKS, REPLICAS, OUTER, CHANNELS, INNER, OUTER_BLOCK, CHANNEL_BLOCK, INNER_BLOCK, OUTER_BLOCKS,
 CHANNEL_BLOCKS, INNER_BLOCKS, X, GRAD, OUT, TABLE, SLOPES, MATRIX, CONSTANTS, PARTIAL, RESULT, DEGREE,
 PARTS, SUMS, NUMBERS, VALUES, TABLE_MATRIX, KEPT) = range(28)  # fmt: skip
LENGTH = 28
