import { type Kysely, sql } from 'kysely'

/** Migration 0031: numbers whose calls go to a telephone system of the customer (`byo_sip`). */
export async function addSipBindings({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('numbers').addColumn('sipTrunk', 'text').execute()
  await schema.alterTable('sipTrunks').addColumn('numberId', 'text').execute()
  await schema
    .createIndex('sipTrunksOfNumber')
    .unique()
    .on('sipTrunks')
    .column('numberId')
    .where(sql.ref('deletedAt'), 'is', null)
    .execute()
}
