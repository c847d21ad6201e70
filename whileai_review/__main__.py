"""``python -m whileai_review`` is ``whileai-review``."""

from whileai_review.cli import main

if __name__ == "__main__":
    main(prog_name="whileai-review")
