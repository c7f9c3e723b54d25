"""Are the product's regular expressions linear? Which there are, a proof of each, a sweep that measures."""
