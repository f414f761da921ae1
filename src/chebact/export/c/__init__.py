"""The parts of a C file: its loops, its tables, its calls and its work space."""
