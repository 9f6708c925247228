from sosbands.learning.progress import Progress


def test_progress_counts_its_steps_on_standard_error(capfd):
    for verbose in (True, False):
        progress = Progress(2, "label", verbose)
        progress.step()
        progress.step()
        progress.close()
        out, err = capfd.readouterr()
        assert out == ""
        assert ("label" in err and "2/2" in err and err.endswith("\n")) == verbose
