/*
 * The three kinds of Prometheus metrics this service has, in text exposition format 0.0.4. Label values
 * come from closed sets of ours (operations, statuses, states), so that series are bounded.
 */

export type Labels = Readonly<Record<string, string>>

export interface Metric {
  render(): string
}

/** A number that only grows. */
export class Counter implements Metric {
  readonly #head: string
  readonly #name: string
  readonly #values = new Map<string, number>()

  constructor(name: string, help: string) {
    this.#name = name
    this.#head = head(name, help, 'counter')
  }

  add(labels: Labels, by = 1): void {
    const key = labelText(labels)
    this.#values.set(key, (this.#values.get(key) ?? 0) + by)
  }

  render(): string {
    return this.#head + series(this.#name, this.#values)
  }
}

/** A number as it is when asked. */
export class Gauge implements Metric {
  readonly #head: string
  readonly #name: string
  readonly #values = new Map<string, number>()

  constructor(name: string, help: string) {
    this.#name = name
    this.#head = head(name, help, 'gauge')
  }

  set(labels: Labels, value: number): void {
    this.#values.set(labelText(labels), value)
  }

  /** Forgets all series, before they are set anew. */
  clear(): void {
    this.#values.clear()
  }

  render(): string {
    return this.#head + series(this.#name, this.#values)
  }
}

interface Distribution {
  /** By bound, not cumulative; the last is above all bounds. */
  readonly counts: number[]
  sum: number
}

/** How often values fell below each bound. */
export class Histogram implements Metric {
  readonly #head: string
  readonly #name: string
  readonly #bounds: readonly number[]
  readonly #values = new Map<string, Distribution>()

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name
    this.#bounds = bounds
    this.#head = head(name, help, 'histogram')
  }

  observe(labels: Labels, value: number): void {
    const distribution = this.#of(labels)
    const bin = this.#bounds.findIndex((bound) => value <= bound)
    const at = bin < 0 ? this.#bounds.length : bin
    distribution.counts[at] = (distribution.counts[at] ?? 0) + 1
    distribution.sum += value
  }

  /** Replaces a series by counts kept elsewhere, by the same bounds; `sum` as far as it is known. */
  replace(labels: Labels, counts: readonly number[], sum: number): void {
    this.#values.set(labelText(labels), { counts: [...counts], sum })
  }

  clear(): void {
    this.#values.clear()
  }

  render(): string {
    let text = this.#head
    for (const [labels, { counts, sum }] of this.#values) {
      let below = 0
      for (const [index, bound] of [...this.#bounds, '+Inf'].entries()) {
        below += counts[index] ?? 0
        const comma = labels === '' ? '' : ','
        text += `${this.#name}_bucket{${labels}${comma}le="${bound}"} ${below}\n`
      }
      const braces = labels === '' ? '' : `{${labels}}`
      text += `${this.#name}_sum${braces} ${sum}\n${this.#name}_count${braces} ${below}\n`
    }
    return text
  }

  #of(labels: Labels): Distribution {
    const key = labelText(labels)
    const known = this.#values.get(key)
    if (known !== undefined) return known
    const made = { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 }
    this.#values.set(key, made)
    return made
  }
}

function head(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

function series(name: string, values: ReadonlyMap<string, number>): string {
  let text = ''
  for (const [labels, value] of values) text += `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`
  return text
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escaped)}"`)
    .join()
}

const escaped = (character: string): string => (character === '\n' ? '\\n' : `\\${character}`)
