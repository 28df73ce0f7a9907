from __future__ import annotations

import signal
import subprocess
import sys
import threading

from buraco_bots.stopping import StopSignals

PATIENCE = 60.0

PROGRAM = '''
import os, queue, signal, sys, threading, time
from buraco_bots.stopping import StopSignals

signals = StopSignals()

def hang():
    while True:
        time.sleep(1e6)

def run(steps, finished=queue.SimpleQueue()):
    """Wait in the main thread, and run the steps in another one a little later."""
    hanging = threading.Thread(target=hang, daemon=True)
    hanging.start()
    with signals:
        threading.Timer(0.5, steps, [hanging]).start()
        finished.get()
'''


def run(steps: str) -> subprocess.CompletedProcess[str]:
    """Run a program of these steps."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + steps], capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_first_signal_wakes_up_the_main_thread() -> None:
    """A signal that another thread receives stops what the main thread waits for."""
    ended = run("""
def steps(hanging):
    signal.pthread_kill(hanging.ident, signal.SIGTERM)
finished = queue.SimpleQueue()
with signals.stopping(lambda: finished.put(None)):
    run(steps, finished)
signals.check()
""")
    assert ended.returncode == 1
    assert ended.stderr.endswith("Stopped: stopped by SIGTERM\n")


def test_second_signal_ends_the_process() -> None:
    """A second signal that another thread receives ends a process whose main thread waits, after `abort`."""
    ended = run("""
def steps(hanging):
    signals.abort = lambda: print("aborted", flush=True)
    for number in signal.SIGHUP, signal.SIGHUP, signal.SIGTERM:
        signal.pthread_kill(hanging.ident, number)
        while signals.received is None:
            time.sleep(0.01)
run(steps)
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGTERM, "aborted\n", "")


def test_forked_process_takes_signals_of_its_own() -> None:
    """A signal to a process that a bot forks ends that one, and does not count here."""
    ended = run("""
def steps(hanging):
    ready, forked = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(forked, b".")
        hang()
    os.read(ready, 1)
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), signals.received, flush=True)
    os._exit(0)
run(steps)
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{-signal.SIGTERM} None\n", "")


def test_everything_is_as_before_without_a_signal() -> None:
    """Handlers, thread and pipe are there only for the time of the block."""

    def state() -> object:
        written = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(written)
        return written, [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]

    before = state()
    with StopSignals():
        (thread,) = (one for one in threading.enumerate() if one.name == "signals")
        assert state() != before
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the pipe is still open"
    assert state() == before
