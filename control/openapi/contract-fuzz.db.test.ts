import { fuzz } from '../../fixtures/contract/fuzz.js'

// A quick look at every operation, the same one each time; contract-fuzz.long.test.ts looks longer.
fuzz({ seed: 20_261_120, msPerOperation: 120, casesPerOperation: 60 })
