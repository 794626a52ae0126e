"""A process that imports everything once and forks servers, so that hundreds of them can be killed in minutes.

A line on its standard input describes a server, as JSON. It is forked, and prints its process id and, when it is ready,
its URL. The server is a process of its own and runs what ``rankwise serve`` runs.
"""

import json
import os
import signal
import sys
from pathlib import Path


def main():
    from rankwise.serve.launch import open_services, serve
    from rankwise.serve.replica import Replica
    from rankwise.serve.server import Address, log_to_stderr
    from rankwise.serve.store import Version
    from rankwise.serve.tokens import Tokens
    from rankwise.serve.writer import Settings

    warm = Replica(Version(1, 0.0, "start", "", [(0, None)], 0, {}), Path(sys.argv[1]).read_bytes()).rows
    rows = [dict.fromkeys(warm.columns, 0.5)] * 2  # load what is compiled
    encoded, labels = warm.encode(rows), warm.labels([str(warm.classes[0])] * 2)
    warm.learn(encoded, labels, encoded[:, 0] * 0 + 1.0)
    warm.answers(encoded)
    print("warm", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not our business
    for line in sys.stdin:
        if os.fork() == 0:
            wanted = json.loads(line)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            print(json.dumps({"pid": os.getpid()}), flush=True)
            if wanted.get("log"):
                sys.stderr = open(wanted["log"], "a", buffering=1)  # noqa: SIM115
                log_to_stderr()
            models = {"model": (Path(wanted["model"]), Path(wanted["store"]))}
            models |= {name: (Path(model), Path(store)) for name, model, store in wanted.get("more", [])}
            services = open_services(models, Settings(**wanted["settings"]))
            requests, tokens = wanted.get("request_log"), wanted.get("tokens")
            address = Address("127.0.0.1", wanted["port"], request_log=None if requests is None else Path(requests))
            known = None if tokens is None else Tokens(Path(tokens))
            serve(services, address, tokens=known, ready=lambda url: print(json.dumps({"url": url}), flush=True))
            os._exit(0)


if __name__ == "__main__":
    main()
