import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../media/base/project-root.js'

/** One measured number of calls. */
export interface Step {
  readonly calls: number
  /** Per cent of one core, whole process. */
  readonly cpuPercent: number
  readonly rssMb: number
  readonly latenessP50: number
  readonly latenessP99: number
  readonly latenessMax: number
}

export const WIDTH = 720
export const PANEL = 230
export const LEFT = 60
export const RIGHT = 110
export const GAP = 60
export const TOP = 40
const COLOURS = ['#1f5fa8', '#c0392b', '#2e8b57', '#8e44ad', '#b9770e']
export const FONT = 'font-family="sans-serif" font-size="12"'

/** Writes bench/results/media-calls.svg from all variants measured so far; returns its path. */
export function drawCalls(series: ReadonlyMap<string, readonly Step[]>): string {
  const folder = join(projectRoot, 'bench', 'results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'media-calls.svg'), callsPicture(series))
  return 'bench/results/media-calls.svg'
}

/** Draws frame clock lateness and CPU. */
export function callsPicture(series: ReadonlyMap<string, readonly Step[]>): string {
  return picture(series, 'bridged calls on one media thread', [
    { title: 'lateness of the 20 ms beat, p99, ms', value: ({ latenessP99: beatP99 }) => beatP99, limit: 5 },
    { title: 'CPU, per cent of a core', value: ({ cpuPercent }) => cpuPercent, limit: 65 },
  ])
}

/** One value of every step, and its limit. */
export interface Panel<S> {
  readonly title: string
  readonly value: (step: S) => number
  readonly limit: number
}

/** Draws two panels, one below the other, over the same number of calls. */
export function picture<S extends { readonly calls: number }>(
  series: ReadonlyMap<string, readonly S[]>,
  foot: string,
  both: readonly [Panel<S>, Panel<S>],
): string {
  const all = [...series.values()].flat()
  const mostCalls = Math.max(10, ...all.map(({ calls }) => calls))
  const height = TOP + 2 * PANEL + GAP + 50
  return sheet(
    height,
    foot,
    both.map((each, i) => panel(series, TOP + i * (PANEL + GAP), each, mostCalls)),
  )
}

/** Assembles placed parts into one drawing with a line of text under them. */
export function sheet(height: number, foot: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    ...parts,
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${height - 12}" text-anchor="middle" ${FONT}>${foot}</text>`,
    '</svg>',
    '',
  ].join('\n')
}

/** Draws curves over a number of calls, with a dashed limit. */
export function panel<S extends { readonly calls: number }>(
  series: ReadonlyMap<string, readonly S[]>,
  top: number,
  { title, value, limit }: Panel<S>,
  mostCalls: number,
): string {
  const values = [...series.values()].flat().map(value)
  const most = niceAbove(Math.max(limit, ...values))
  const bottom = top + PANEL
  const right = WIDTH - RIGHT
  const x = (calls: number) => rounded(LEFT + ((right - LEFT) * calls) / mostCalls)
  const y = (height: number) => rounded(bottom - ((bottom - top) * height) / most)
  const parts = [`<text x="${LEFT}" y="${top - 12}" ${FONT}>${title}</text>`]
  for (let tick = 0; tick <= 5; tick++) {
    const height = (most * tick) / 5
    parts.push(
      `<line x1="${LEFT}" y1="${y(height)}" x2="${right}" y2="${y(height)}" stroke="#ddd"/>`,
      `<text x="${LEFT - 8}" y="${y(height) + 4}" text-anchor="end" ${FONT}>${rounded(height)}</text>`,
    )
    const calls = Math.round((mostCalls * tick) / 5)
    parts.push(`<text x="${x(calls)}" y="${bottom + 18}" text-anchor="middle" ${FONT}>${calls}</text>`)
  }
  parts.push(
    `<line x1="${LEFT}" y1="${y(limit)}" x2="${right}" y2="${y(limit)}" stroke="#888" stroke-dasharray="5 4"/>`,
    `<text x="${right + 6}" y="${y(limit) - 6}" ${FONT} fill="#666">limit ${limit}</text>`,
  )
  let at = 0
  for (const [name, steps] of series) {
    const colour = COLOURS[at % COLOURS.length]
    const points = steps.map((step) => `${x(step.calls)},${y(value(step))}`)
    parts.push(
      `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...steps.map((step) => `<circle cx="${x(step.calls)}" cy="${y(value(step))}" r="3" fill="${colour}"/>`),
      `<text x="${right + 6}" y="${top + 24 + 16 * at}" ${FONT} fill="${colour}">${name}</text>`,
    )
    at++
  }
  return parts.join('\n')
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

/** Returns 1, 2 or 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= value) ?? value
}
