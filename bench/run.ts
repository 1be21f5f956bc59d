import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { errorText } from '../media/base/errors.js'
import { projectRoot } from '../media/base/paths.js'
import { measureGet, measureStart } from './api.js'
import { measureBargeIn } from './barge-in.js'
import { measureBeat, measureDensity } from './density.js'
import { FIGURE_IDS, type Figure, type Measured, table } from './figures.js'
import { NULL_LIMIT_MS, openProbe, type Probe } from './probe.js'
import { measureReplies } from './reply.js'
import { measureSipParsing } from './sip-parse.js'
import { measureWebhooks } from './webhooks.js'

const HELP = `npm run bench [-- --only ID,ID] [--json FILE]

Measures the engine on the wire and prints a table; minutes for everything.
Figures: ${FIGURE_IDS.join(', ')}; sub-figures like R_engine@typical.
Exit status 0: the runs were valid. 3: the host was too noisy three times. 1: the bench failed.
`

const ATTEMPTS = 3

interface Run {
  readonly ids: readonly string[]
  readonly measure: (probe: Probe) => Promise<Figure[]>
}

const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

const RUNS: readonly Run[] = [
  {
    ids: [
      'R_engine',
      ...['typical', 'zero', 'clean', 'car', 'office', 'far'].map((sub) => `R_engine@${sub}`),
    ],
    measure: quietly(measureReplies),
  },
  { ids: ['B_pause', 'B_flush'], measure: quietly(measureBargeIn) },
  { ids: ['Beat', 'Gap'], measure: quietly(measureBeat) },
  { ids: ['A_get', 'A_get@postgres'], measure: quietly(measureGet) },
  { ids: ['A_start'], measure: quietly(measureStart) },
  { ids: ['A_webhooks'], measure: quietly(measureWebhooks) },
  { ids: ['S_parse'], measure: quietly(measureSipParsing) },
  { ids: ['C'], measure: (probe) => measureDensity(probe, say) },
]

/** Measures until the host was quiet enough, three times at most; the last noisy one is marked void. */
function quietly(measure: () => Promise<Measured[]>): Run['measure'] {
  return async (probe) => {
    for (let attempt = 1; ; attempt++) {
      await probe.take()
      const measured = await measure()
      const nullProbeMs = await probe.take()
      const quiet = nullProbeMs <= NULL_LIMIT_MS
      if (quiet || attempt === ATTEMPTS) {
        const verdict = quiet ? {} : { void: true }
        return measured.map((row) => ({
          ...row,
          nullProbeMs,
          context: { ...row.context, attempt, ...verdict },
        }))
      }
      say(`  null probe p99.9 ${nullProbeMs} ms: the host is too noisy, again`)
    }
  }
}

function describeHost(): object {
  let commit = 'unknown'
  try {
    commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: projectRoot,
      encoding: 'utf8',
    }).trim()
  } catch {
    // Not a clone: an archive has no commit.
  }
  const [cpu] = cpus()
  return {
    commit,
    node: process.version,
    kernel: release(),
    cpu: cpu?.model ?? 'unknown',
    cores: cpus().length,
  }
}

async function bench(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const only = values.only?.split(',').map((id) => id.trim())
  const wanted = (id: string): boolean =>
    only === undefined || only.some((name) => id === name || id.startsWith(`${name}@`))
  const runs = RUNS.filter((run) => run.ids.some(wanted))
  if (runs.length === 0) {
    say(`No figure of ${values.only}. There are: ${RUNS.flatMap((run) => run.ids).join(', ')}`)
    return 1
  }
  const host = describeHost()
  const probe = openProbe()
  const figures: Figure[] = []
  try {
    for (const run of runs) {
      say(`Measuring ${run.ids.join(', ')} ...`)
      for (const row of await run.measure(probe)) {
        if (wanted(row.id)) figures.push({ ...row, context: { ...row.context, ...host } })
      }
    }
  } finally {
    probe.close()
  }
  process.stdout.write(`${table(figures)}\n`)
  if (values.json !== undefined) {
    const path = resolve(values.json)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${JSON.stringify(figures, null, 2)}\n`)
  }
  return figures.some((row) => row.context.void === true) ? 3 : 0
}

bench(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status
  },
  (error: unknown) => {
    say(`The bench failed: ${errorText(error)}`)
    process.exitCode = 1
  },
)
