import { type Kysely, sql } from 'kysely'

/**
 * Migration 0054: an index of the digits in the numbers of calls, by which a search finds any part of a number.
 * `control/calls/digit-search.ts` reads it. The database keeps it itself.
 */
export async function indexCallDigits(db: Kysely<unknown>, dialect: 'sqlite' | 'postgres'): Promise<void> {
  const statements = dialect === 'sqlite' ? SQLITE : POSTGRES
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/*
 * `callDigits` has the numbers of each call under an integer that VACUUM does not change, unlike the row ids of `calls`.
 * The trigrams of a number that was erased leave the index at once.
 */
const SQLITE = [
  `create table "callDigits" ("n" integer primary key, "callId" text not null unique, "digits" text not null)`,
  `create virtual table "callDigitsIndex"
    using fts5("digits", content='callDigits', content_rowid='n', tokenize='trigram', detail=none)`,
  `insert into "callDigitsIndex" ("callDigitsIndex", "rank") values ('secure-delete', 1)`,
  `insert into "callDigits" ("callId", "digits") select "id", "fromNumber" || ' ' || "toNumber" from "calls"`,
  `insert into "callDigitsIndex" ("callDigitsIndex") values ('rebuild')`,
  `create trigger "callDigitsAdded" after insert on "calls" begin
    insert into "callDigits" ("callId", "digits") values (new."id", new."fromNumber" || ' ' || new."toNumber");
    insert into "callDigitsIndex" ("rowid", "digits")
      select "n", "digits" from "callDigits" where "callId" = new."id";
  end`,
  `create trigger "callDigitsChanged" after update of "fromNumber", "toNumber" on "calls" begin
    insert into "callDigitsIndex" ("callDigitsIndex", "rowid", "digits")
      select 'delete', "n", "digits" from "callDigits" where "callId" = old."id";
    update "callDigits" set "digits" = new."fromNumber" || ' ' || new."toNumber" where "callId" = old."id";
    insert into "callDigitsIndex" ("rowid", "digits")
      select "n", "digits" from "callDigits" where "callId" = old."id";
  end`,
  `create trigger "callDigitsRemoved" after delete on "calls" begin
    insert into "callDigitsIndex" ("callDigitsIndex", "rowid", "digits")
      select 'delete', "n", "digits" from "callDigits" where "callId" = old."id";
    delete from "callDigits" where "callId" = old."id";
  end`,
]

const POSTGRES = [
  `create function "callDigits"(caller text, called text) returns text[] language sql immutable parallel safe as $$
    select array(
      select distinct substr(number, at, 3)
      from (values (caller), (called)) as numbers(number), generate_series(1, length(number) - 2) as at)
  $$`,
  `create index "callsDigits" on "calls" using gin ("callDigits"("fromNumber", "toNumber"))`,
]
