"""What the commands do, one module a subject: they join experiments, records and reports. The arguments live in
`cli`.
"""
