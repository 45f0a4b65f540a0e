"""The machine looks for a way to break the shop."""

from adapter import ShopAdapter
from hypothesis import Phase, settings

from paydouble.stateful import MerchantMachine


class ShopMachine(MerchantMachine):
    """Names the adapter."""

    merchant = ShopAdapter


TestShop = ShopMachine.TestCase
TestShop.settings = settings(
    max_examples=30,  # of the hunt; `hunt_seconds = 3600` in the class lets it run for an hour
    stateful_step_count=12,
    deadline=None,  # a play takes as long as the computer is busy
    derandomize=True,  # the same plays each time; leave it out to see others
    phases=[Phase.generate, Phase.shrink],  # the report explains the failure
)
