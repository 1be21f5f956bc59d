import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../media/base/project-root.js'
import { FONT, GAP, LEFT, PANEL, panel, RIGHT, sheet, TOP, WIDTH } from '../media/plot.js'

/** One measured number of agent calls. CPU is in per cent of one core. */
export interface DensityStep {
  readonly calls: number
  readonly enginePercent: number
  readonly mediaPercent: number
  readonly mainPercent: number
  readonly vendorsPercent: number
  readonly callersPercent: number
  readonly latenessP99: number
  /** R_engine. */
  readonly replyP99: number
}

/** One stage between the caller's last sound and the agent's first. */
export interface Stage {
  readonly name: string
  readonly ms: number
  readonly of: 'policy' | 'vendor' | 'engine'
}

export interface Waterfall {
  readonly name: string
  readonly stages: readonly Stage[]
}

const COLOURS: Readonly<Record<Stage['of'], string>> = {
  policy: '#bbbbbb',
  vendor: '#d9b26f',
  engine: '#1f5fa8',
}
interface Point {
  readonly calls: number
  readonly y: number
}

const BAR = 34
const ROW = 74
/** The number of a narrower stage appears only in the legend. */
const LABEL_PX = 26

function write(name: string, svg: string): string {
  const folder = join(projectRoot, 'bench', 'results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), svg)
  return `bench/results/${name}`
}

/** Writes bench/results/agent-calls.svg; returns its path. */
export function drawDensity(steps: readonly DensityStep[]): string {
  return write('agent-calls.svg', densityPicture(steps))
}

/** Writes bench/results/reply-time.svg; returns its path. */
export function drawWaterfall(waterfalls: readonly Waterfall[]): string {
  return write('reply-time.svg', waterfallPicture(waterfalls))
}

/** Draws CPU and reply time over the number of agent calls. Of a repeated number the last try counts. */
export function densityPicture(tried: readonly DensityStep[]): string {
  const steps = [...new Map(tried.map((step) => [step.calls, step])).values()].sort(
    (a, b) => a.calls - b.calls,
  )
  const mostCalls = Math.max(10, ...steps.map(({ calls }) => calls))
  const line = (value: (step: DensityStep) => number): readonly Point[] =>
    steps.map((step) => ({ calls: step.calls, y: value(step) }))
  const cpu = new Map([
    ['engine', line(({ enginePercent }) => enginePercent)],
    ['media thread', line(({ mediaPercent }) => mediaPercent)],
    ['main thread', line(({ mainPercent }) => mainPercent)],
  ])
  const times = new Map([
    ['R_engine', line(({ replyP99 }) => (Number.isFinite(replyP99) ? Math.max(0, replyP99) : 0))],
    ['beat', line(({ latenessP99 }) => latenessP99)],
  ])
  const value = ({ y }: Point): number => y
  return sheet(TOP + 2 * PANEL + GAP + 50, 'calls of agents on one media thread', [
    panel(cpu, TOP, { title: 'CPU, per cent of a core', value, limit: 65 }, mostCalls),
    panel(
      times,
      TOP + PANEL + GAP,
      { title: 'R_engine and lateness of the beat, p99, ms', value, limit: 90 },
      mostCalls,
    ),
  ])
}

/**
 * Draws one bar per waterfall: the stages between the end of the caller's speech and the agent's first sound.
 */
export function waterfallPicture(waterfalls: readonly Waterfall[]): string {
  const totals = waterfalls.map(({ stages }) => stages.reduce((sum, { ms }) => sum + ms, 0))
  const most = Math.max(1, ...totals)
  const width = WIDTH - LEFT - RIGHT
  const height = TOP + waterfalls.length * ROW + 60
  const bars = waterfalls.flatMap(({ name, stages }, row) => {
    const top = TOP + row * ROW
    let at = LEFT
    const parts = [
      `<text x="${LEFT - 6}" y="${top + BAR / 2 + 4}" text-anchor="end" ${FONT}>${name}</text>`,
      ...stages.flatMap(({ name: stage, ms, of }) => {
        // Noise can make a stage negative; it is drawn without width.
        const wide = Math.round((10 * width * Math.max(0, ms)) / most) / 10
        const from = Math.round(at * 10) / 10
        at += wide
        const rect = `<rect x="${from}" y="${top}" width="${wide}" height="${BAR}" fill="${COLOURS[of]}" stroke="white" stroke-width="0.5"><title>${stage} ${Math.round(ms)} ms</title></rect>`
        if (wide < LABEL_PX) return [rect]
        const middle = Math.round(10 * (from + wide / 2)) / 10
        return [
          rect,
          `<text x="${middle}" y="${top + BAR + 14}" text-anchor="middle" ${FONT}>${stage}</text>`,
          `<text x="${middle}" y="${top + BAR / 2 + 4}" text-anchor="middle" ${FONT}>${Math.round(ms)}</text>`,
        ]
      }),
    ]
    const own = stages.filter(({ of }) => of === 'engine').reduce((sum, { ms }) => sum + Math.max(0, ms), 0)
    const total = Math.round(totals[row] ?? 0)
    parts.push(
      `<text x="${Math.round(at) + 6}" y="${top + BAR / 2 + 4}" ${FONT}>${total} ms, ours ${Math.round(own)}</text>`,
    )
    return parts
  })
  const legend = (['policy', 'vendor', 'engine'] as const).map(
    (of, i) =>
      `<rect x="${LEFT + i * 130}" y="${height - 42}" width="12" height="12" fill="${COLOURS[of]}"/><text x="${LEFT + 18 + i * 130}" y="${height - 32}" ${FONT}>${of === 'policy' ? 'silence policy' : of === 'vendor' ? 'vendors' : 'engine'}</text>`,
  )
  return sheet(height, 'ms from the end of the caller’s speech to the agent’s first sound, medians', [
    ...bars,
    ...legend,
  ])
}
