"""Choose one value where several sources give different ones."""
