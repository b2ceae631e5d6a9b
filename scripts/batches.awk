# Reads sources, and prints which are compiled together: FOLDER/KIND-N=SOURCE;SOURCE..., at most `most` of a folder and
# kind (parts or tests), in batches of about one size. The Makefile compiles by it.

{
    for (i = 1; i <= NF; i++) {
        folder = $i
        sub(/\/[^\/]*$/, "", folder)
        group = folder "/" ($i ~ /_test(ing)?\.cpp$/ ? "tests" : "parts")
        members[group, ++count[group]] = $i
    }
}

END {
    for (group in count) {
        batches = int((count[group] + most - 1) / most)
        for (b = 1; b <= batches; b++) {
            line = ""
            for (i = int(count[group] * (b - 1) / batches) + 1; i <= int(count[group] * b / batches); i++)
                line = line ";" members[group, i]
            print group "-" b "=" substr(line, 2)
        }
    }
}
