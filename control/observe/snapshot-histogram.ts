import { Histogram, type Registry } from 'prom-client'

interface Snapshot {
  readonly labels: Readonly<Record<string, string>>
  /** Counts by bound, not cumulative. The last one is above all bounds. */
  readonly counts: readonly number[]
  readonly sum: number
}

/** A Prometheus histogram whose counts are kept elsewhere, for example by a media thread. */
export class SnapshotHistogram extends Histogram {
  readonly #name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  #snapshots: Snapshot[] = []

  constructor(options: {
    readonly name: string
    readonly help: string
    readonly labelNames: readonly string[]
    readonly buckets: readonly number[]
    readonly registry: Registry
  }) {
    const { name, help, labelNames, buckets, registry } = options
    super({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [registry] })
    this.#name = name
    this.#help = help
    this.#bounds = buckets
  }

  /** Adds a series. `counts` has one entry per bound and one for values above all bounds. */
  add(labels: Snapshot['labels'], counts: readonly number[], sum: number): void {
    this.#snapshots.push({ labels, counts: [...counts], sum })
  }

  /** Removes all series. */
  clear(): void {
    this.#snapshots = []
  }

  override async get(): ReturnType<Histogram['get']> {
    const values = this.#snapshots.flatMap(({ labels, counts, sum }) => {
      let below = 0
      const buckets = [...this.#bounds, '+Inf'].map((le, index) => {
        below += counts[index] ?? 0
        return { metricName: `${this.#name}_bucket`, labels: { ...labels, le }, value: below }
      })
      return [
        ...buckets,
        { metricName: `${this.#name}_sum`, labels, value: sum },
        { metricName: `${this.#name}_count`, labels, value: below },
      ]
    })
    const type = 'histogram' as unknown as Awaited<ReturnType<Histogram['get']>>['type']
    return { name: this.#name, help: this.#help, type, aggregator: 'sum', collect: () => {}, values }
  }

  /** Called by the registry of prom-client instead of `get`. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get()
  }
}
