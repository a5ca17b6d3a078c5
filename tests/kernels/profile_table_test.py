"""Tests cmake/kernel_profiles.awk: what was counted and what was read by hand of an operation or a launch are one row, and no number stands twice.

Usage: python3 tests/kernels/profile_table_test.py SOURCE_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

script = pathlib.Path(sys.argv[1]) / "cmake/kernel_profiles.awk"
COUNTED = '[[counted]]\nlaunch = "attention"\nat = "tile"\nhead_dim = 64\ninstructions = 46\nalu = 4\n'


def table_of(text):
    """Returns the exit code of the script and what it writes for one profile."""
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "some_kernel/profile.toml"
        profile.parent.mkdir()
        profile.write_text(text)
        run = subprocess.run(["awk", "-f", script, profile], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr


def main():
    by_hand = '[[overhead]]\nlaunch = "attention"\nat = "tile"\nhead_dim = 64\nbarriers = 1\n'
    of_128 = by_hand.replace("64", "128")
    code, text = table_of(COUNTED + by_hand + of_128)
    assert code == 0, text
    rows = [line.strip() for line in text.splitlines() if '.at = "tile"' in line]
    assert rows == ['{.launch = "attention", .at = "tile", .head_dim = 64, .what = {.instructions = 46, .barriers = 1, .alu = 4}},',
                    '{.launch = "attention", .at = "tile", .head_dim = 128, .what = {.barriers = 1}},'], rows
    code, text = table_of(COUNTED + by_hand + "alu = 5\n")
    assert code != 0 and "alu of \"tile\" is given twice" in text, text

    setup = '[[reading]]\nlaunch = "dV"\nhead_dim = 64\nsetup_instructions = 199\n'
    share = '[[reading]]\nlaunch = "dV"\nhead_dim = 64\ndependent_share = 0.44\n'
    code, text = table_of(setup + share + share.replace("64", "128"))
    assert code == 0, text
    rows = [line.strip() for line in text.splitlines() if '.launch = "dV"' in line]
    assert rows == ['{.launch = "dV", .head_dim = 64, .dependent_share = 0.44, .setup_instructions = 199},',
                    '{.launch = "dV", .head_dim = 128, .dependent_share = 0.44},'], rows
    code, text = table_of(setup + share + "setup_instructions = 199\n")
    assert code != 0 and "setup_instructions of \"dV\" is given twice" in text, text


main()
