/*
 * The failed assertions of a TAP file (https://testanything.org/tap-version-14-specification.html),
 * each as the path to it: a long log ends with what to look at.
 */

/** `['dist/x.test.js > a test > an assertion', ..]` in order; a file that died without one is named itself. */
export function failuresOf(tap) {
  const found = []
  // What is open around the current line, and how many failures were known when it opened.
  const open = []
  for (const line of tap.split('\n')) {
    const subtest = line.match(/^( *)# Subtest: (.*)$/)
    if (subtest) {
      const depth = subtest[1].length / 4
      open.length = Math.min(open.length, depth)
      open.push({ name: subtest[2], before: found.length })
      continue
    }
    const point = line.match(/^( *)(not )?ok \d+(?: - (.*?))?(?: # time=[\d.]+ms)?(?: \{)?$/)
    if (!point) continue
    const depth = point[1].length / 4
    const name = point[3] ?? ''
    // The result of a subtest stands after its own lines, at its own depth.
    const closed = open.length > depth && open[depth].name === name ? open[depth] : null
    const known = closed !== null && found.length > closed.before
    const path = [...open.slice(0, depth).map((entry) => entry.name), name]
    const excused = / # (TODO|SKIP)\b/i.test(name)
    if (point[2] !== undefined && !known && !excused) found.push(path.join(' > '))
    if (closed !== null) open.length = depth
  }
  return found
}
