import { type Kysely, sql } from 'kysely'

export interface AppendOnly {
  readonly table: string
  readonly columns: readonly string[]
  /** Column that may be set once, from null to a value. All other columns are immutable. */
  readonly settable: string | null
  /** Error message of the database. */
  readonly refusal: string
}

/** Creates triggers that reject changes and removals of rows, in SQLite or PostgreSQL. */
export async function appendOnly(
  db: Kysely<unknown>,
  dialect: 'sqlite' | 'postgres',
  rule: AppendOnly,
): Promise<void> {
  const { table, settable, refusal } = rule
  const differs = dialect === 'sqlite' ? 'is not' : 'is distinct from'
  const others = rule.columns.filter((column) => column !== settable)
  const changed = others.map((column) => `new."${column}" ${differs} old."${column}"`).join(' or ')
  const setOnce =
    settable === null
      ? 'false'
      : `old."${settable}" is null and new."${settable}" is not null and not (${changed})`
  if (dialect === 'sqlite') {
    await sql
      .raw(`create trigger "${table}Unchanged" before update on "${table}" when not (${setOnce})
        begin select raise(abort, '${refusal}'); end`)
      .execute(db)
    await sql
      .raw(`create trigger "${table}Kept" before delete on "${table}"
        begin select raise(abort, '${refusal}'); end`)
      .execute(db)
    return
  }
  await sql
    .raw(`create function "${table}Refuse"() returns trigger language plpgsql as $$
      begin
        if tg_op = 'UPDATE' then
          if ${setOnce} then return new; end if;
        end if;
        raise exception '${refusal}';
      end $$`)
    .execute(db)
  await sql
    .raw(`create trigger "${table}Kept" before update or delete on "${table}"
      for each row execute function "${table}Refuse"()`)
    .execute(db)
  // A row trigger does not fire for TRUNCATE.
  await sql
    .raw(`create trigger "${table}NotTruncated" before truncate on "${table}"
      for each statement execute function "${table}Refuse"()`)
    .execute(db)
}
