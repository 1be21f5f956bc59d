import { randomInt } from 'node:crypto'
import t from 'tap'
import { fuzz } from '../../fixtures/contract/fuzz.js'
import { startPostgres } from '../../fixtures/database/postgres.js'

/*
 * Many cases on both databases. PARLEY_FUZZ_SEED chooses them: they are the same in each run unless told, so that a failure
 * belongs to the change under test. `random` draws a seed; the name of the test tells it.
 */
const { PARLEY_FUZZ_SEED = '1' } = process.env
const seed = PARLEY_FUZZ_SEED === 'random' ? randomInt(2 ** 31) : Number(PARLEY_FUZZ_SEED)
const bounds = { seed, msPerOperation: 500, casesPerOperation: 2000 }

const postgres = await startPostgres()
t.teardown(() => postgres.stop())
fuzz(bounds)
fuzz({ ...bounds, databaseUrl: await postgres.createDatabase() })
