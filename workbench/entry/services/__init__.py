"""What the faces of the product call, by subject."""
