import pytest

from sosbands.learning.progress import Progress


@pytest.mark.parametrize("verbose", [True, False])
def test_a_phase_counts_its_steps_on_standard_error_from_its_beginning_on(capfd, verbose):
    progress = Progress(verbose).part("fold 2 of 5")
    with progress.phase("mean", 2):
        out, first = capfd.readouterr()
        progress.step()
        progress.step()
    assert out == ""
    assert ("fold 2 of 5: mean" in first and "0/2" in first) == verbose
    last = capfd.readouterr().err
    assert ("2/2" in last and last.endswith("\n")) == verbose


def test_the_line_of_a_phase_ends_if_it_fails(capfd):
    with pytest.raises(KeyboardInterrupt), Progress(True).phase("tuning", 3):
        raise KeyboardInterrupt
    assert capfd.readouterr().err.endswith("0/3\n")
