"""The server: has the exported network, gets public keys and ciphertexts, sends ciphertexts back.

    python server.py model.json

It speaks over its standard input and output; put a socket there in earnest. First it says what a client must know of
the network (sizes and parameters), then it reads the client's keys, then it answers one message after the other.
"""

import json
import sys

from frames import read_frame, write_frame

from chebact.private import Server, load


def serve(path, incoming, outgoing):
    plan = load(path)
    write_frame(outgoing, json.dumps(plan.agreement.numbers).encode())
    try:
        server = Server(plan, read_frame(incoming))
        while True:
            write_frame(outgoing, server.evaluate(read_frame(incoming)))
    except EOFError:
        return


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
