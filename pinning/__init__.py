"""Place threads: pure functions over the answers of saved queries about a host."""
