import { type LimitNode, SqliteQueryCompiler, ValueNode } from 'kysely'

/**
 * Writes limits into the text of statements. SQLite prepares a statement again for each run in which its limit is bound,
 * which takes fifty times as long as the run of a short one.
 */
export class LiteralLimits extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    const { limit } = node
    if (ValueNode.is(limit) && Number.isSafeInteger(limit.value)) this.append(`limit ${limit.value}`)
    else super.visitLimit(node)
  }
}
