"""The compiled operations of the fused trainer, each a C function of (its record, the context of a worker)."""
