"""Place threads and ranks, by pure functions over the rows of saved queries."""
