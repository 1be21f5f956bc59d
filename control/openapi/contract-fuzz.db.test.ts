import { fuzz } from '../../fixtures/contract/fuzz.js'

// A few fixed cases for every operation; contract-fuzz.long.test.ts tries many more.
fuzz({ seed: 20_261_120, msPerOperation: 20, casesPerOperation: 10 })
