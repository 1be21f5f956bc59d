interface Weighted {
  readonly priority: number
  readonly weight: number
}

/**
 * The order to try SRV records in (RFC 2782): by priority, and within one by chance in proportion
 * to the weights; those of weight 0 have the smallest chance. `random` gives values in [0, 1).
 */
export function orderSrv<T extends Weighted>(records: readonly T[], random: () => number): readonly T[] {
  const ordered: T[] = []
  const priorities = [...new Set(records.map((record) => record.priority))].sort((a, b) => a - b)
  for (const priority of priorities) {
    const left = records.filter((record) => record.priority === priority)
    left.sort((a, b) => Number(a.weight > 0) - Number(b.weight > 0))
    while (left.length > 0) {
      const total = left.reduce((sum, record) => sum + record.weight, 0)
      const drawn = random() * total
      let sum = 0
      const found = left.findIndex((record) => {
        sum += record.weight
        return sum >= drawn
      })
      ordered.push(...left.splice(Math.max(found, 0), 1))
    }
  }
  return ordered
}
