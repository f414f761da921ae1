"""What tests share and is no test: truths, records, small image sets, a browser."""
