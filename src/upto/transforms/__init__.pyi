from upto.transforms.apply import apply_transform as apply_transform
from upto.transforms.in_anndata import ica_from_anndata as ica_from_anndata
from upto.transforms.in_anndata import write_to_anndata as write_to_anndata
from upto.transforms.save import load_transform as load_transform
from upto.transforms.save import save_transform as save_transform
