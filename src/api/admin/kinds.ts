/** The kinds that are declared, as the interface calls them. */
import { partners } from '../../administration/partners.ts'
import { declared } from './declared.ts'

export const partnerEndpoints = declared(partners, { one: 'Partner', many: 'Partners', a: 'a partner' })
