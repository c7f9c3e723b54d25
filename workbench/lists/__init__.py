"""Lists of records as every face asks for them: the filter language, queries, pages and fields."""
