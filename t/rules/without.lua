-- Rules without a pair in this folder, and why.
return {
}
