# Two commands set everything up: `make run` runs the main job, `make test` all tests. `make check` is the quick loop.
.DEFAULT_GOAL := help
help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
