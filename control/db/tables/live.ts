import type { GeneratedAlways } from 'kysely'

/** A change that the dashboards of an organization are told about. Removed after 15 minutes. */
export interface LiveChangeTable {
  readonly seq: GeneratedAlways<number>
  /** Transaction that wrote the row. Always 0 on SQLite. */
  readonly transaction: GeneratedAlways<number>
  readonly organizationId: string
  /** Null concerns both environments. */
  readonly environment: 'test' | 'live' | null
  readonly kind: string
  readonly subjectId: string
  readonly at: number
}

export interface LiveTables {
  liveChanges: LiveChangeTable
}
