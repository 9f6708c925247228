"""The command as a process of its own: streams, exit codes, signals."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from tests.cli.conftest import KERNEL_MEAN

COMMAND = [sys.executable, "-m", "sosbands.cli"]
# Whatever the tests were started by, Ctrl-C and the end of the terminal must reach the command.
AS_FROM_A_TERMINAL = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "from sosbands.cli import main; main()"
)
HEADER, ROW = "x,colour\n", "0.5,red\n"


def run(*arguments, **settings):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)


@contextmanager
def fed(*arguments):
    """A process with endless rows on standard input, and with the signals of a terminal."""
    process = subprocess.Popen(
        [sys.executable, "-c", AS_FROM_A_TERMINAL, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def feed():
        with suppress(BrokenPipeError):
            process.stdin.write(HEADER)
            while True:
                process.stdin.write(ROW * 1000)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        feeder.join()
        for stream in (process.stdout, process.stderr):
            stream.close()
        with suppress(BrokenPipeError):
            process.stdin.close()


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from sosbands.cli import commands\n"
        "for name in commands.commands:\n"
        "    commands.main([name, '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'pandas', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "heavy: []", done.stderr


def test_standard_input_gives_standard_output(model, folder):
    text = (folder / "new.csv").read_text()
    done = run("predict", model, "-", input=text)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "x,colour,y,mean,lower,upper"
    assert len(lines) == len(text.splitlines())


def test_a_model_can_be_fitted_from_standard_input(folder, tmp_path):
    out = tmp_path / "m.skops"
    text = (folder / "train.csv").read_text()
    arguments = ("--target", "y", "--out", out, "--test-size", "0", *KERNEL_MEAN)
    done = run("fit", "-", *arguments, input=text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rows         160: 112 learn, 48 calibrate")
    assert out.exists()


def test_predictions_leave_before_all_rows_have_come(model):
    with fed("predict", model, "-") as process:
        assert process.stdout.readline() == "x,colour,mean,lower,upper\n"
        assert process.stdout.readline().startswith("0.5,red,")
        assert process.poll() is None


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 143, ""), (signal.SIGHUP, 143, "")],
)
def test_an_interrupted_prediction_leaves_no_half_of_a_file(model, tmp_path, number, code, said):
    (tmp_path / "out.csv").write_text("old")
    with fed("predict", model, "-", "--out", tmp_path / "out.csv") as process:
        began = time.monotonic()
        while not any(path.stat().st_size for path in tmp_path.glob(".*.out.csv")):
            assert process.poll() is None
            assert time.monotonic() < began + 60
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert process.stderr.read().strip() == said
    assert os.listdir(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_a_reader_that_has_seen_enough_is_no_error(model):
    with fed("predict", model, "-") as process:
        process.stdout.readline()
        process.stdout.close()
        process.wait(timeout=60)
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["fit"], 2),
        (["predict", "nothing.skops", "-"], 2),
        (["unknown"], 2),
        (["info", __file__], 1),
    ],
)
def test_exit_codes_say_whose_mistake_it_is(arguments, code):
    done = run(*arguments, input="")
    assert done.returncode == code
    assert bool(done.stderr) == (code > 0)
    assert "Traceback" not in done.stderr
    assert code != 1 or done.stderr.splitlines()[-1].startswith("Error: ")
