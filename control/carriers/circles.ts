/** Telecom circles of India by the codes that carriers use. */
export const CIRCLES = {
  AP: 'Andhra Pradesh and Telangana',
  AS: 'Assam',
  BR: 'Bihar and Jharkhand',
  DL: 'Delhi',
  GJ: 'Gujarat',
  HP: 'Himachal Pradesh',
  HR: 'Haryana',
  JK: 'Jammu and Kashmir',
  KA: 'Karnataka',
  KL: 'Kerala',
  KO: 'Kolkata',
  MH: 'Maharashtra and Goa',
  MP: 'Madhya Pradesh and Chhattisgarh',
  MU: 'Mumbai',
  NE: 'North East',
  OR: 'Odisha',
  PB: 'Punjab',
  RJ: 'Rajasthan',
  TN: 'Tamil Nadu',
  UE: 'Uttar Pradesh (East)',
  UW: 'Uttar Pradesh (West) and Uttarakhand',
  WB: 'West Bengal',
} as const

export type Circle = keyof typeof CIRCLES
