# Reads the sources given and prints, per folder, FOLDER=FOLDER;FOLDER...: the folders whose headers it includes, itself
# or through others. The Makefile links by it. A line SERVICE(NAME) of src/server/services.inc counts as an include from
# src/service/NAME.

FNR == 1 { folder = FILENAME; sub(/\/[^\/]*$/, "", folder); folders[folder] = 1 }

/^[ \t]*#[ \t]*include[ \t]*"/ {
    name = $0
    sub(/^[^"]*"/, "", name)
    sub(/".*$/, "", name)
    if (!sub(/\/[^\/]*$/, "", name)) next
    includes[folder, name] = 1
}

/^SERVICE\(/ {
    name = $0
    sub(/^SERVICE\(/, "", name)
    sub(/\).*$/, "", name)
    includes[folder, "service/" name] = 1
}

# A folder is named from src/, or from research/.
function place(name) { return ("src/" name) in folders ? "src/" name : "research/" name }

END {
    for (pair in includes) {
        split(pair, p, SUBSEP)
        other = place(p[2])
        if (other in folders && other != p[1]) reaches[p[1], other] = 1
    }
    # Warshall's closure; there are few folders.
    for (k in folders)
        for (i in folders)
            if ((i, k) in reaches)
                for (j in folders)
                    if ((k, j) in reaches) reaches[i, j] = 1
    for (i in folders) {
        line = ""
        for (j in folders)
            if ((i, j) in reaches && i != j) line = line ";" j
        if (line != "") print i "=" substr(line, 2)
    }
}
