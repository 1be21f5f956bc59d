/*
 * Reads TAP output (https://testanything.org/tap-version-14-specification.html): which tests failed, where and why,
 * how many there were, and how long each file took.
 */

/**
 * Returns `{ passed, failed, files, failures }` of a TAP stream in which every test file is one subtest. A test is a
 * subtest that has no subtests of its own. `files` is `[{ name, ms }]`; `failures` is `[{ path, detail }]`, one for
 * each failed assertion, and one for a file that died without a failed assertion.
 */
export function readReport(tap) {
  const report = { passed: 0, failed: 0, files: [], failures: [] }
  // The subtests around the current line, outermost first.
  const open = []
  const lines = tap.split('\n')
  const close = (subtest) => {
    open.length = subtest.depth
    if (subtest.leaf && !subtest.skipped) report[subtest.ok ? 'passed' : 'failed']++
    const parent = open.at(-1)
    if (parent) parent.leaf = false
  }
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]
    const comment = line.match(/^( *)# Subtest: (.*)$/)
    if (comment) {
      open.length = comment[1].length / 4
      open.push({
        name: unescaped(comment[2]),
        depth: open.length,
        leaf: true,
        before: report.failures.length,
      })
      continue
    }
    const end = line.match(/^( *)\}$/)
    if (end && open.at(-1)?.buffered && open.at(-1).depth === end[1].length / 4) {
      close(open.at(-1))
      continue
    }
    const point = line.match(/^( *)(not )?ok \d+(?: - (.*?))?(?: # time=([\d.]+)ms)?( \{)?$/)
    if (!point) continue
    const depth = point[1].length / 4
    const directive = / # (TODO|SKIP)\b.*$/i
    const skipped = directive.test(point[3] ?? '')
    const name = unescaped((point[3] ?? '').replace(directive, ''))
    const ok = point[2] === undefined || skipped
    const known = open[depth]?.name === name && !open[depth].buffered ? open[depth] : null
    const path = [...open.slice(0, depth).map((subtest) => subtest.name), name].join(' > ')
    const failuresInside = known !== null && report.failures.length > known.before
    if (!ok && !failuresInside && point[5] === undefined) {
      report.failures.push({ path, detail: diagnosis(lines, i + 1) })
    }
    if (depth === 0) report.files.push({ name, ms: Number(point[4] ?? 0) })
    if (point[5] !== undefined) {
      // A buffered subtest: its result stands before its lines.
      open.length = depth
      open.push({ name, depth, leaf: true, ok, skipped, buffered: true, before: report.failures.length })
    } else if (known !== null) close({ ...known, ok, skipped, leaf: known.leaf })
  }
  return report
}

/** Returns the YAML block that begins at line `from`, without its indentation; empty when there is none. */
function diagnosis(lines, from) {
  const start = lines[from]?.match(/^( *)---$/)
  if (!start) return ''
  const end = lines.indexOf(`${start[1]}...`, from)
  return lines
    .slice(from + 1, end < 0 ? from + 60 : end)
    .map((line) => line.slice(start[1].length))
    .join('\n')
}

function unescaped(name) {
  return name.replace(/\\([#\\])/g, '$1').trim()
}
